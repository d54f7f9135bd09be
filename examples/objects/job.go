package objects

// Job is the part of a Job that decides whether its pods come back. Without a namespace it is in default.
type Job struct {
	Namespace, Name string
	Spec            JobSpec
	Status          JobStatus
}

// JobSpec is the part of a Job's spec that Stream reads.
type JobSpec struct {
	BackoffLimit         *int32    `json:"backoffLimit"`
	BackoffLimitPerIndex *int32    `json:"backoffLimitPerIndex"`
	PodFailurePolicy     *struct{} `json:"podFailurePolicy"` // whether there is one
	PodReplacementPolicy string    `json:"podReplacementPolicy"`
	Suspend              bool      `json:"suspend"`
}

// JobStatus is the part of a Job's status that Stream reads.
type JobStatus struct {
	Failed                  int `json:"failed"`
	UncountedTerminatedPods struct {
		Failed []string `json:"failed"`
	} `json:"uncountedTerminatedPods"`
	Conditions []struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	} `json:"conditions"`
}

// Ended reports whether the Job is complete, has failed or is about to, or is suspended.
func (j *Job) Ended() bool {
	for _, c := range j.Status.Conditions {
		switch c.Type {
		case "Complete", "SuccessCriteriaMet", "Failed", "FailureTarget":
			if c.Status == "True" {
				return true
			}
		}
	}
	return j.Spec.Suspend
}
