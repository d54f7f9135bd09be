package simulation

func (a *API) action() action {
	return action{
		machines: true, check: a.check, more: " " + a.describe(),
		play: func(p *player, _ *Planned) error {
			p.api(a)
			return nil
		},
	}
}

// api changes how the API answers.
func (p *player) api(a *API) {
	ours, kubelets := a.For != ForKubelets, a.For != ForEvictor && a.State != APIFailing
	if ours {
		if p.stalled() && a.State != APIDown {
			p.cluster.standStill(int64(p.guard.broken))
		}
		p.apiDown, p.writer.sender.Latency, p.answer = a.State == APIDown, a.Latency, a.Answer
	}
	if kubelets {
		p.cluster.KubeletsReach(a.State == APIDown, a.Latency)
	}
	if ours {
		p.watchesBreak(p.apiDown)
		p.leader.answers(p, p.cluster.Clock.Elapsed())
	}
}

func (a *API) check(f faults) {
	switch {
	case a.State == APISlow && a.Latency <= 0:
		f.in("latency").add("%v is not positive", a.Latency)
	case a.State == APISlow:
	case a.State != APIDown && a.State != APIUp && a.State != APIFailing:
		f.in("state").add("%q is not one of %s, %s, %s and %s", a.State, APIDown, APISlow, APIFailing, APIUp)
	case a.Latency != 0:
		f.at("", "latency").add("latency is allowed only with state %s", APISlow)
	}
	a.checkAnswer(f)
	if a.For != "" && a.For != ForEvictor && a.For != ForKubelets && a.For != forAll {
		f.in("for").add("%q is not one of %s, %s and %s", a.For, ForEvictor, ForKubelets, forAll)
	}
}

// checkAnswer reports the faults of what writes are answered.
func (a *API) checkAnswer(f faults) {
	switch {
	case a.State != APIFailing && a.Answer != "":
		f.at("", "answer").add("answer is allowed only with state %s", APIFailing)
	case a.State == APIFailing && answers[a.Answer] == nil:
		f.in("answer").add("%q is not one of %s, %s, %s and %s", a.Answer, AnswerForbidden, AnswerBusy, AnswerInternal, AnswerWritten)
	case a.State == APIFailing && a.For == ForKubelets:
		f.in("for").add("only the evictor's writes can be %s", APIFailing)
	}
}

// describe returns a text for the state, for which calls, and the latency or the answer.
func (a *API) describe() string {
	text := a.State
	if a.For != "" {
		text += " for " + a.For
	}
	if a.Latency != 0 {
		text += " by " + a.Latency.String()
	}
	if a.Answer != "" {
		text += " with " + a.Answer
	}
	return text
}
