package objects_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/examples/objects"
)

// kubectlPod is a pod as kubectl get -o yaml prints it from a live cluster, at 1.25 times.
const kubectlPod = `apiVersion: v1
kind: Pod
metadata:
  annotations:
    checksum/config: 0f3a1c6d4c1f1d6a
  creationTimestamp: "2023-07-05T00:00:00Z"
  generateName: shop-5d4f8c7b9d-
  labels:
    app: shop
    pod-template-hash: 5d4f8c7b9d
  name: pod-%d
  namespace: shop
  ownerReferences:
  - apiVersion: apps/v1
    blockOwnerDeletion: true
    controller: true
    kind: ReplicaSet
    name: shop-5d4f8c7b9d
    uid: 1b6c2d5e-8c5f-4d5f-9a43-5b1f5c2d7e90
  resourceVersion: "%[1]d"
  uid: 7f2c1c0e-0a3b-4e55-8e6d-%012[1]d
spec:
  containers:
  - env:
    - name: GREETING
      value: "hello: world"
    - name: POD_NAME
      valueFrom:
        fieldRef:
          apiVersion: v1
          fieldPath: metadata.name
    image: registry.example/shop:1
    imagePullPolicy: IfNotPresent
    livenessProbe:
      failureThreshold: 3
      httpGet:
        path: /healthz
        port: 8080
        scheme: HTTP
      periodSeconds: 10
      successThreshold: 1
      timeoutSeconds: 1
    name: main
    ports:
    - containerPort: 8080
      name: http
      protocol: TCP
    resources:
      limits:
        memory: 1Gi
      requests:
        cpu: 250m
        memory: 1Gi
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    volumeMounts:
    - mountPath: /var/run/secrets/kubernetes.io/serviceaccount
      name: kube-api-access-8x7fq
      readOnly: true
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  nodeName: node-%[1]d
  preemptionPolicy: PreemptLowerPriority
  priority: 0
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext: {}
  serviceAccount: default
  serviceAccountName: default
  terminationGracePeriodSeconds: 30
  tolerations:
  - effect: NoExecute
    key: node.kubernetes.io/not-ready
    operator: Exists
    tolerationSeconds: 300
  - effect: NoExecute
    key: node.kubernetes.io/unreachable
    operator: Exists
    tolerationSeconds: 300
  volumes:
  - name: kube-api-access-8x7fq
    projected:
      defaultMode: 420
      sources:
      - serviceAccountToken:
          expirationSeconds: 3607
          path: token
      - configMap:
          items:
          - key: ca.crt
            path: ca.crt
          name: kube-root-ca.crt
status:
  conditions:
  - lastProbeTime: null
    lastTransitionTime: "2023-07-05T00:00:00Z"
    status: "True"
    type: Initialized
  - lastProbeTime: null
    lastTransitionTime: "2023-07-05T00:01:00Z"
    status: "True"
    type: Ready
  - lastProbeTime: null
    lastTransitionTime: "2023-07-05T00:01:00Z"
    status: "True"
    type: ContainersReady
  - lastProbeTime: null
    lastTransitionTime: "2023-07-05T00:00:00Z"
    status: "True"
    type: PodScheduled
  containerStatuses:
  - containerID: containerd://9b1c
    image: registry.example/shop:1
    imageID: registry.example/shop@sha256:1f
    lastState: {}
    name: main
    ready: true
    restartCount: 0
    started: true
    state:
      running:
        startedAt: "2023-07-05T00:00:30Z"
  hostIP: 10.0.0.7
  phase: Running
  podIP: 10.1.2.3
  podIPs:
  - ip: 10.1.2.3
  qosClass: Burstable
  startTime: "2023-07-05T00:00:00Z"
`

// BenchmarkStreamYAML reads 4 MiB of documents an iteration: small pods as made up for tests, and such as kubectl prints.
func BenchmarkStreamYAML(b *testing.B) {
	for _, pod := range []struct{ name, text string }{{"small", strings.ReplaceAll("\n"+yamlPod, "\n  ", "\n")[1:]}, {"kubectl", kubectlPod}} {
		b.Run(pod.name, func(b *testing.B) {
			var text []byte
			pods := 0
			for ; len(text) < 4<<20; pods++ {
				text = fmt.Appendf(append(text, "---\n"...), pod.text, pods)
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				count, err := objects.Stream(bytes.NewReader(text), "generated", func(runtime.Object) error { return nil })
				require.NoError(b, err)
				require.Equal(b, map[string]int{"Pod": pods}, count.Read)
			}
		})
	}
}
