package clusterapi

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// machine is a machine in the world.
type machine struct {
	*clusterv1.Machine
	node     []corev1.NodeCondition // nil when there is no node
	deleting bool
	waiting  bool // waits for remediation, according to Cluster API
	wrong    bool // some timestamp differs from the time of the change
	back     bool // its wait for a node began earlier than at the last look
}

// skipped says whether the check ignores the machine.
func (m *machine) skipped() bool {
	_, paused := m.Annotations[clusterv1.PausedAnnotation]
	_, skipped := m.Annotations[clusterv1.MachineSkipRemediationAnnotation]
	return paused || skipped
}

// begun returns since when it could have had a node.
func (m *machine) begun() metav1.Time {
	begun := m.CreationTimestamp
	for _, c := range m.Status.Conditions {
		if c.Type == clusterv1.MachineInfrastructureReadyCondition && c.Status == metav1.ConditionTrue && c.LastTransitionTime.After(begun.Time) {
			begun = c.LastTransitionTime
		}
	}
	return begun
}

// world is a random cluster with one health check. It changes at random.
type world struct {
	*rand.Rand
	check    *clusterv1.MachineHealthCheck
	machines []*machine
	looked   time.Time // before the last changes
	made     int
	strange  bool // some clocks are wrong
}

var (
	nodeKinds    = []corev1.NodeConditionType{"Ready", "NetworkUnavailable"}
	machineKinds = []string{clusterv1.MachineInfrastructureReadyCondition, "Bootstrapped"}
	statuses     = []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}
	watched      = map[string]string{"watched": "yes"}
)

func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), looked: time.Now()}
	w.strange = w.oneIn(5)
	w.check = &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "check"},
		Spec:       clusterv1.MachineHealthCheckSpec{ClusterName: clusterName, Selector: metav1.LabelSelector{MatchLabels: watched}},
	}
	checks, trigger := &w.check.Spec.Checks, &w.check.Spec.Remediation.TriggerIf
	checks.NodeStartupTimeoutSeconds = ptr.To(int32(w.IntN(4) * 600))
	for _, kind := range nodeKinds {
		for _, status := range statuses[1 : 2+w.IntN(2)] {
			checks.UnhealthyNodeConditions = append(checks.UnhealthyNodeConditions,
				clusterv1.UnhealthyNodeCondition{Type: kind, Status: status, TimeoutSeconds: w.timeout()})
		}
	}
	if w.oneIn(2) {
		checks.UnhealthyMachineConditions = []clusterv1.UnhealthyMachineCondition{
			{Type: machineKinds[w.IntN(2)], Status: metav1.ConditionFalse, TimeoutSeconds: w.timeout()},
		}
	}
	switch w.IntN(4) {
	case 0:
		trigger.UnhealthyLessThanOrEqualTo = ptr.To(intstr.FromInt(w.IntN(8)))
	case 1:
		trigger.UnhealthyLessThanOrEqualTo = ptr.To(intstr.FromString(fmt.Sprintf("%d%%", w.IntN(101))))
	case 2:
		least := w.IntN(4)
		trigger.UnhealthyInRange = fmt.Sprintf("[%d-%d]", least, least+w.IntN(6))
	}
	w.come(3 + w.IntN(20))
	return w
}

func (w *world) oneIn(n int) bool { return w.IntN(n) == 0 }

// timeout is the timeout of a condition; nil means at once.
func (w *world) timeout() *int32 {
	if w.oneIn(8) {
		return nil
	}
	return ptr.To(int32(30 + w.IntN(1200)))
}

// ago returns a timestamp: a full second since the last look or, if clocks are wrong, another.
func (w *world) ago(m *machine) metav1.Time {
	seconds := w.IntN(max(int(time.Since(w.looked)/time.Second), 1))
	if w.strange && w.oneIn(6) {
		m.wrong = true
		seconds = w.IntN(3600) - 1800
	}
	return metav1.NewTime(time.Now().Truncate(time.Second).Add(-time.Duration(seconds) * time.Second))
}

// come adds machines. The check does not select or ignores some of them.
func (w *world) come(n int) (came []*machine) {
	for range n {
		w.made++
		m := &machine{Machine: &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("m%03d", w.made), Finalizers: []string{finalizer}, Annotations: map[string]string{},
			Labels:            map[string]string{clusterv1.ClusterNameLabel: clusterName, "watched": "yes"},
			CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Duration(w.IntN(3000)) * time.Second).Truncate(time.Second)),
		}}}
		m.Spec.ClusterName = clusterName
		if w.oneIn(12) {
			m.Annotations[[]string{clusterv1.PausedAnnotation, clusterv1.MachineSkipRemediationAnnotation}[w.IntN(2)]] = ""
		}
		for _, kind := range machineKinds {
			m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Is", LastTransitionTime: m.CreationTimestamp})
		}
		if !w.oneIn(5) {
			w.join(m)
		}
		came = append(came, m)
	}
	w.machines = append(w.machines, came...)
	return came
}

// join gives the machine a node.
func (w *world) join(m *machine) {
	m.Status.NodeRef.Name = m.Name
	m.node = []corev1.NodeCondition{}
	for _, kind := range nodeKinds {
		if !w.oneIn(10) {
			m.node = append(m.node, corev1.NodeCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: w.ago(m)})
		}
	}
}

// pass makes things happen after the last look, and returns the machines that changed.
func (w *world) pass() (changed []*machine) {
	outage := w.oneIn(4)
	for _, m := range w.machines {
		if w.happens(m, outage) {
			changed = append(changed, m)
		}
	}
	return changed
}

// happens makes something happen to one machine, and says whether it did.
func (w *world) happens(m *machine, outage bool) (changed bool) {
	begun := m.begun()
	defer func() { m.back = m.back || !m.Status.NodeRef.IsDefined() && m.begun().Time.Before(begun.Time) }()
	for i := range m.node {
		switch c := &m.node[i]; {
		case c.Status == corev1.ConditionTrue && (outage && w.oneIn(3) || w.oneIn(15)):
			c.Status, c.LastTransitionTime, changed = statuses[1+w.IntN(2)], w.ago(m), true
		case c.Status != corev1.ConditionTrue && w.oneIn(5):
			c.Status, c.LastTransitionTime, changed = corev1.ConditionTrue, w.ago(m), true
		}
	}
	for i := range m.Status.Conditions {
		switch c := &m.Status.Conditions[i]; {
		case c.Status == metav1.ConditionTrue && w.oneIn(25):
			c.Status, c.LastTransitionTime, changed = metav1.ConditionFalse, w.ago(m), true
		case c.Status != metav1.ConditionTrue && w.oneIn(4):
			c.Status, c.LastTransitionTime, changed = metav1.ConditionTrue, w.ago(m), true
		}
	}
	switch {
	case !m.Status.NodeRef.IsDefined() && w.oneIn(4):
		w.join(m)
	case m.node != nil && w.oneIn(40):
		m.node = nil
	case w.oneIn(50):
		m.Annotations[clusterv1.RemediateMachineAnnotation] = ""
	case w.oneIn(50):
		m.deleting = true
	case w.oneIn(60):
		delete(m.Labels, "watched")
	default:
		return changed
	}
	return true
}

// selected are the machines that the check selects.
func (w *world) selected() []*machine {
	return slices.DeleteFunc(slices.Clone(w.machines), func(m *machine) bool { return m.Labels["watched"] == "" })
}
