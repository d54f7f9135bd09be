package simulation

// stalled says whether deployments, the scheduler, the pod garbage collector and rolls wait for the API.
func (p *player) stalled() bool { return p.apiDown && p.playsOutages() }

// playsOutages says whether an outage of the API is played as clusters live it.
func (p *player) playsOutages() bool { return !p.driven && !p.scenario.ControllersOnly }

// playsGuard says whether there is a guard. Processes that end with their leadership have none.
func (p *player) playsGuard() bool { return p.playsOutages() && !p.leader.process }
