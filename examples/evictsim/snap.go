package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evictkit/evictkit/examples/evictsim/snapshot"
)

// fromCluster are the flags that choose the cluster, as in kubectl.
type fromCluster struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

func snapshotCommand(f *flags) *cobra.Command {
	from := fromCluster{rules: clientcmd.NewDefaultClientConfigLoadingRules()}
	c := &cobra.Command{
		Use:   "snapshot FILE",
		Short: "Write the nodes, pods, PodDisruptionBudgets, volumes, Jobs and StatefulSets of a live cluster to a file that scenarios read",
		Long: `Write the nodes, pods, PodDisruptionBudgets, PersistentVolumes, PersistentVolumeClaims, Jobs and StatefulSets of a live
cluster to FILE, - for standard output. A scenario reads it with

  cluster: {files: [FILE]}

It only lists objects, page by page. FILE has names, labels, taints, tolerations, affinity, resources, conditions and owners;
it has no environment, commands, images, addresses, annotations or managedFields. These permissions are enough:

` + snapshot.ClusterRole,
		Example: "  evictsim snapshot cluster.json\n  evictsim snapshot --context staging staging.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("snapshot needs the name of one file to write, or -"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range []string{"scenario", "set", "until", "output", "report", "engine"} {
				if c.Flags().Changed(name) {
					return usage(fmt.Errorf("snapshot plays no scenario: leave out --%s", name))
				}
			}
			client, err := from.client()
			if err != nil {
				return err
			}
			return takeSnapshot(c, client, under(args[0]), f.quiet)
		},
	}
	c.Flags().StringVar(&from.rules.ExplicitPath, "kubeconfig", "", "`FILE` that says how to reach the cluster (default $KUBECONFIG, or ~/.kube/config, or the pod's own)")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{} // all namespaces are listed
	clientcmd.BindOverrideFlags(&from.overrides, c.Flags(), names)
	return c
}

func (from *fromCluster) client() (kubernetes.Interface, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(from.rules, &from.overrides).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no kubeconfig: set --kubeconfig FILE, or run in a pod with a service account")
	case err != nil:
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.UserAgent = "evictkit-snapshot"
	return kubernetes.NewForConfig(config)
}

func takeSnapshot(c *cobra.Command, client kubernetes.Interface, path string, quiet bool) error {
	stderr := c.ErrOrStderr()
	if quiet {
		stderr = io.Discard
	}
	file, err := create("snapshot", path, c.OutOrStdout())
	if err != nil {
		return err
	}
	count, err := snapshot.Write(c.Context(), client, file)
	if err := file.keep(err); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	fmt.Fprintf(stderr, "%s, %s, %s, %s, %s, %s, %s\n", some(count.Nodes, "node"), some(count.Budgets, "PodDisruptionBudget"),
		some(count.Volumes, "PersistentVolume"), some(count.Claims, "PersistentVolumeClaim"), some(count.Jobs, "Job"),
		some(count.Sets, "StatefulSet"), some(count.Pods, "pod"))
	return nil
}
