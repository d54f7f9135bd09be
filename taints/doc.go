// Package taints answers two questions: which taints should a node carry, and how long does a pod
// tolerate them?
//
// # For how long
//
// A taint has a key, a value and an effect; a toleration matches it by the rules of k8s.io/api (see
// Matcher.Tolerates). For each taint the first toleration in the pod's order that matches is the one
// used, also where a later one would be more generous: that is what upstream does, so the order of
// tolerations matters. Tolerate puts the NoExecute taints of a node together:
//
//   - one that is not tolerated: the pod goes at once;
//   - tolerations with tolerationSeconds: it goes after the least of them, at once for zero and below;
//   - only tolerations without: it stays for ever, as it does without any taint.
//
// Nothing on this path allocates. Select, NoExecute and NoSchedule are views of a node's taints, not
// copies.
//
// # Which taints
//
// ForConditions gives the NoSchedule taints for conditions and cordons, ForReady the one NoExecute taint
// for a node that is not ready (False: not-ready) or silent (Unknown: unreachable), never both. Diff
// compares what is there with what is wanted, among the taints one manages; a taint that is wanted again
// unchanged is no change, so its TimeAdded stays and with it every deadline that counts from it. Change.Apply
// and Change.Patch make one write of the result, whatever mixture of effects it holds.
//
// Everything here is a pure function of its arguments and safe for concurrent use.
package taints
