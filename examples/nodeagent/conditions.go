package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

const (
	// ownTypes begins the types of the conditions, unless they are written under the kubelet's.
	ownTypes = "nodeagent.example.com/"
	// beat is how long a condition that does not change may be without a heartbeat.
	beat = time.Minute
)

// writeConditions writes the conditions of each decision, until the context ends.
func (a *agent) writeConditions(ctx context.Context) {
	for {
		var under []v1.NodeConditionType
		select {
		case <-ctx.Done():
			return
		case under = <-a.conditions:
		}
		if !a.act {
			continue
		}
		if err := a.write(ctx, under); err != nil && ctx.Err() == nil {
			fmt.Fprintln(a.out, time.Now().Format(time.TimeOnly), "writing the conditions of the node:", err) // the next decision writes them
		}
	}
}

// write writes the node's conditions if they have changed or need a heartbeat.
func (a *agent) write(ctx context.Context, under []v1.NodeConditionType) error {
	node, err := a.client.CoreV1().Nodes().Get(ctx, a.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions := nodepressure.NodeConditions(under)
	now, same := metav1.Now(), true
	for i := range conditions {
		c := &conditions[i]
		if !a.kubelets {
			c.Type = ownTypes + c.Type
			c.Reason, c.Message = strings.TrimPrefix(c.Reason, "Kubelet"), strings.Replace(c.Message, "kubelet", "the node", 1)
		}
		c.LastHeartbeatTime, c.LastTransitionTime = now, now
		old := slices.IndexFunc(node.Status.Conditions, func(o v1.NodeCondition) bool { return o.Type == c.Type })
		if old < 0 || node.Status.Conditions[old].Status != c.Status {
			same = false
			continue
		}
		c.LastTransitionTime = node.Status.Conditions[old].LastTransitionTime
		same = same && now.Sub(node.Status.Conditions[old].LastHeartbeatTime.Time) < beat
	}
	if same {
		return nil
	}
	type object = map[string]any
	patch, err := json.Marshal(object{"metadata": object{"uid": node.UID}, "status": object{"conditions": conditions}})
	if err != nil {
		return err
	}
	_, err = a.client.CoreV1().Nodes().Patch(ctx, a.node, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
