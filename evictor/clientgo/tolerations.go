package clientgo

import (
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// maxShared bounds the table of tolerations: beyond it, sharing starts anew.
const maxShared = 4096

// tolerationTable shares equal lists of tolerations: a cluster's pods have few different ones.
type tolerationTable struct {
	mu    sync.Mutex
	lists map[string][]v1.Toleration // guarded by mu
}

var sharedTolerations tolerationTable

// of returns a list equal to this one, to be read only, and the same one for equal lists while the table
// lasts.
func (t *tolerationTable) of(list []v1.Toleration) []v1.Toleration {
	if len(list) == 0 {
		return nil
	}
	var key strings.Builder
	for i := range list {
		for _, part := range []string{list[i].Key, string(list[i].Operator), list[i].Value, string(list[i].Effect)} {
			key.WriteString(part)
			key.WriteByte(0)
		}
		if s := list[i].TolerationSeconds; s != nil {
			key.WriteString(strconv.FormatInt(*s, 10))
		}
		key.WriteByte(0)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if shared, ok := t.lists[key.String()]; ok {
		return shared
	}
	if t.lists == nil || len(t.lists) >= maxShared {
		t.lists = make(map[string][]v1.Toleration)
	}
	shared := make([]v1.Toleration, len(list))
	for i := range list {
		list[i].DeepCopyInto(&shared[i])
	}
	t.lists[key.String()] = shared
	return shared
}
