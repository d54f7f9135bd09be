package nodepressure

// NotifyAt is at which memory usage, in bytes, a kernel is to notify (see Manager.Notify) so that the
// notification comes when the threshold is met: the kernel counts everything that is used, also the
// reclaimable bytes that do not count here (inactive file pages). Because those change it is to be
// computed anew now and then; the kubelet does every 10s.
func NotifyAt(threshold Threshold, sample Sample, reclaimable int64) int64 {
	quantity := threshold.Value.At(sample.Capacity)
	return add(add(sample.Capacity, -whole(&quantity)), reclaimable)
}
