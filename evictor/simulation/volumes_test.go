package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// owned is a pod of a file on a node that tolerates an outage for no time.
func owned(kind, owner, name, node string) *v1.Pod {
	controller := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &controller}}},
		Spec:       v1.PodSpec{NodeName: node},
	}
}

func claiming(p *v1.Pod, claim string) *v1.Pod {
	p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	return p
}

// filed is a cluster of two nodes in zone a and two in zone b, with pods, and with a volume in zone a that the claim disk
// is bound to. The claim and the volume come after the pods, as kubectl may print them.
func filed(t *testing.T, mode v1.PersistentVolumeAccessMode, pods ...*v1.Pod) *cluster {
	c := newCluster(clockOf(nil))
	for _, name := range []string{"a1", "a2", "b1", "b2"} {
		labels := map[string]string{v1.LabelTopologyZone: name[:1], v1.LabelHostname: name}
		require.NoError(t, c.AddNodeObject(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}))
	}
	for _, p := range pods {
		if p.Spec.NodeName == "" {
			require.NoError(t, c.AddUnboundObject(p, false))
			continue
		}
		bound, err := c.AddPodObject(p)
		require.NoError(t, err)
		require.True(t, bound)
	}
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "disk"}}
	claim.Spec.VolumeName, claim.Spec.AccessModes = "volume", []v1.PersistentVolumeAccessMode{mode}
	require.NoError(t, c.filters.AddClaim(claim))
	require.Error(t, c.filters.AddClaim(claim))
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume", Labels: map[string]string{v1.LabelTopologyZone: "a"}}}
	volume.Spec.AccessModes = claim.Spec.AccessModes
	require.NoError(t, c.filters.AddVolume(volume))
	require.Error(t, c.filters.AddVolume(volume))
	return c
}

func failing(node string, more ...Event) Scenario {
	return Scenario{
		Events: append([]Event{{At: time.Minute, Fail: named(node)}}, more...),
		Until:  30 * time.Minute,
	}
}

// scheduled returns where a pod came back, and when.
func scheduled(lines []timeline.Line, pod string) (node string, at time.Duration) {
	for _, l := range of(lines, timeline.KindSchedule) {
		if l.Pod == "shop/"+pod {
			return l.Node, l.T
		}
	}
	return "", 0
}

// A database's disk is in zone a, so the database is too. The disk leaves a silent node six minutes after the pod's
// object is gone, or at once if the node is out of service or back.
func TestADiskIsFreeLate(t *testing.T) {
	gone := Event{At: 10 * time.Minute, ForceDelete: &Pod{Name: "shop/db"}}
	serviced := Event{At: 10*time.Minute + time.Second, OutOfService: named("a1")}
	back := Event{At: 10 * time.Minute, Recover: named("a1")}
	deleted := Event{At: 10 * time.Minute, DeleteNode: named("a1")}
	soon, late := 10*time.Minute+10*time.Second, 16*time.Minute+10*time.Second
	for _, test := range []struct {
		name  string
		event Event
		mode  v1.PersistentVolumeAccessMode
		want  time.Duration
	}{
		{"forced", gone, v1.ReadWriteOnce, late}, {"out of service", serviced, v1.ReadWriteOnce, soon + 20*time.Second}, {"back", back, v1.ReadWriteOnce, soon},
		{"deleted", deleted, v1.ReadWriteOnce, late + 40*time.Second}, {"of many nodes", gone, v1.ReadWriteMany, soon},
	} {
		for _, kind := range []string{"StatefulSet", "ReplicaSet"} {
			c := filed(t, test.mode, claiming(owned(kind, "db", "db", "a1"), "disk"), owned("ReplicaSet", "web", "web", "a2"))
			lines, _, r := told(t, c, failing("a1", test.event))
			pod, want := "db", test.want
			if kind == "ReplicaSet" {
				pod = "db-r1"
			}
			if kind == "ReplicaSet" && test.mode == v1.ReadWriteMany {
				want = time.Minute + 55*time.Second // when its deletion begins
			}
			node, at := scheduled(lines, pod)
			require.Contains(t, []string{"a1", "a2"}, node, test.name)
			require.Equal(t, want, at, "%s %s", test.name, kind)
			require.Zero(t, r.Waiting)
			require.Nil(t, r.NotSimulated)
		}
	}
}

// While zone a is lost its database is Pending, and is so because of its volume.
func TestADiskOfALostZoneIsNowhereElse(t *testing.T) {
	c := filed(t, v1.ReadWriteMany, claiming(owned("ReplicaSet", "db", "db", "a1"), "disk"), claiming(owned("ReplicaSet", "x", "x", "b1"), "unknown"))
	_, _, r := told(t, c, failing("a1", Event{At: time.Minute, Fail: named("a2")}))
	require.Len(t, r.Unplaced, 1)
	require.Equal(t, map[string]int{placement.NotReady: 2, placement.VolumeAway: 2}, r.Unplaced[0].Because)
	require.Equal(t, map[string]int{unboundClaims: 1}, r.NotSimulated)
	require.Equal(t, r.NotSimulated, r.Understated)
}

// A pod whose claim is another pod's alone waits until that one is gone.
func TestAClaimOfOnePod(t *testing.T) {
	next := claiming(owned("ReplicaSet", "next", "next", ""), "disk")
	c := filed(t, "ReadWriteOncePod", claiming(owned("", "", "first", "a1"), "disk"), next)
	lines, _, r := told(t, c, Scenario{
		Events: []Event{{At: 5 * time.Minute, DeletePod: &Pod{Name: "shop/first"}}}, Until: 10 * time.Minute,
	})
	require.Equal(t, because("0/4 nodes: 4 volume in use"), of(lines, timeline.KindPending)[0].More)
	_, at := scheduled(lines, "next")
	require.Equal(t, 5*time.Minute, at)
	require.Zero(t, r.PendingAtEnd)
}

// After an outage of the API, who waits for a volume comes behind whoever does not, although it came first before.
func TestWhoWaitsThroughAnOutageStaysInOrder(t *testing.T) {
	c := newCluster(clockOf(nil))
	minutes := func(n int) int64 { return int64(time.Duration(n) * time.Minute) }
	c.waiting.add(comeback{at: minutes(4), wait: minutes(6), member: 1})
	c.waiting.add(comeback{at: minutes(11), member: 2})
	c.Clock.Set(20 * time.Minute)
	c.standStill(minutes(5))
	require.Equal(t, []int32{2, 1}, []int32{c.waiting.activeQ[0].member, c.waiting.activeQ[1].member})
	require.Equal(t, []int64{minutes(20), minutes(25)}, []int64{c.waiting.activeQ[0].at + c.waiting.activeQ[0].wait, c.waiting.activeQ[1].at + c.waiting.activeQ[1].wait})
}
