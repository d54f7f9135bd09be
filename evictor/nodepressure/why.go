package nodepressure

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Why says in words what the decision is and what led to it.
func (d *Decision) Why() string {
	switch {
	case d.Threshold.Signal == "" && d.Action == EvictPods:
		var pods []string
		for _, e := range d.Evictions {
			pods = append(pods, fmt.Sprintf("evict %s/%s: %s", e.Pod.Namespace, e.Pod.Name, strings.TrimSpace(e.Message)))
		}
		return strings.Join(pods, "; ")
	case d.Threshold.Signal == "":
		return d.whyNothing()
	}
	short := fmt.Sprintf("%s, and %s of %s is available", d.Threshold, d.amount(d.Sample.Available), d.amount(d.Sample.Capacity))
	switch d.Action {
	case Nothing:
		return short + " before reclaiming: what was reclaimed is enough"
	case ReclaimNode:
		return fmt.Sprintf("%s: reclaim %v first", short, d.Reclaim)
	case EvictPods:
		return short + ": " + d.whyFirst()
	}
	if len(d.Ranked) == 0 {
		return short + ": no pod can be evicted, because none is in the sample"
	}
	return fmt.Sprintf("%s: no pod can be evicted, because all of %s are protected", short, count(len(d.Ranked), "pod"))
}

// whyNothing says what is met, and why that is no reason to act.
func (d *Decision) whyNothing() string {
	var met []string
	for _, m := range d.Met {
		switch since := d.Time.Sub(m.Since); {
		case !m.Due:
			met = append(met, fmt.Sprintf("%s, but only since %s", m.Threshold, since))
		case m.Stale:
			met = append(met, fmt.Sprintf("%s, but the sample is not new", m.Threshold))
		}
	}
	if len(met) == 0 {
		met = []string{"no threshold is met"}
	}
	if n := len(d.Unmeasured); n > 0 {
		met = append(met, fmt.Sprintf("there is no sample for %s", count(n, "threshold")))
	}
	return strings.Join(met, "; ")
}

// whyFirst says why the pod to evict goes before the others.
func (d *Decision) whyFirst() string {
	protected := 0
	for i := range d.Ranked {
		c := &d.Ranked[i]
		if c.Pod.Pod != d.Evictions[0].Pod {
			protected++
			continue
		}
		text := fmt.Sprintf("evict %s/%s, of priority %d, which uses %s and requests %s", c.Pod.Namespace, c.Pod.Name, c.Priority, d.amount(c.Used), d.amount(c.Requested))
		if c.Pod.Usage == nil {
			text = fmt.Sprintf("evict %s/%s, whose usage is not known", c.Pod.Namespace, c.Pod.Name)
		}
		if protected > 0 {
			text += fmt.Sprintf("; %s before it cannot be evicted", count(protected, "pod"))
		}
		return text
	}
	return ""
}

// amount writes an amount of what is short.
func (d *Decision) amount(n int64) string {
	return resource.NewQuantity(n, format(d.Threshold.Signal.Resource())).String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
