// Package evictor puts the pieces together: node and pod events in; conditions, taints and evictions out.
//
// An Evictor is told by its Source, or by the program, by name what changed (NodeChanged, PodChanged) and when leases were renewed
// (LeaseRenewed); until somebody tells it anything it decides nothing. It reads the truth from the stores when it acts, decides, checks once more, and writes
// through the small interfaces in Clients. Step does everything that is due now and says when to call again; Run is a
// loop over the same code with workers. Every decision reaches the Observer with its reasons, and Explain
// tells those about one node or pod.
//
// # What happens to a node that fails
//
//  1. No heartbeat is seen for NodeMonitorGracePeriod: its verdict becomes Unknown, the four kubelet
//     conditions are written, its pods are marked not Ready, and NoSchedule taints follow the conditions.
//  2. It waits in its zone's queue. The zone's state gives the rate: NodeEvictionRate, the secondary one,
//     or 0. When every zone is down nothing is tainted for it and what was is lifted.
//  3. Its turn comes: it is tainted NoExecute. Pods leave as their tolerations end.
//  4. It reports Ready: pending evictions are cancelled in memory, then the taints lifted in one write.
//
// Without TaintBasedEviction steps 2 and 3 delete its pods after PodEvictionTimeout instead.
//
// # Permissions
//
// MayWrite (leadership) stops every write. MayHarm, Pause and SetObserverHealth stop only new taints and
// evictions; recovery is never blocked. MayHarmIn and PauseDomain do so in one failure domain. What the zone policy says of pending
// evictions (zone.Pending) reaches only those by our own taints. The strictest answer wins. DryRun decides everything and
// writes nothing. Hold spares one node, at once.
//
// # When the API server fails
//
// What could not be written because the API server was not reached, did not answer in time, had an error of its own or too much
// to do is tried again with a backoff that grows up to RetryMax; and one write of these each pass, jittered, finds out when it is back.
// As soon as anything is answered, all of it is tried again at once, within the workers and the rate limit of the client. An answer about one
// object is no outage: a conflict is read again within seconds, a disruption budget asked again for longer each time, and
// what is forbidden, invalid or refused by a webhook keeps its backoff.
//
// # What it is not
//
// It does not collect pods of deleted nodes (PodGC), force-delete what a dead kubelet cannot finish, or
// move pods for balance (descheduling). It evicts nothing that the API objects do not justify.
//
// # Bad input
//
// A node without labels is in the zone with the empty key; one without conditions counts as not ready and is
// Unknown after the start-up grace; without a creation time, or with one in the future, that grace runs from when it was first
// seen. Two of a name that both have no UID never differ. A taint with an unknown effect is left alone. A toleration that has a value with Exists
// ignores it; tolerationSeconds of zero and below mean at once, 9e18 the longest duration there is. A pod on a node that does not exist is ignored until the node
// appears. Events may come out of order and twice: they only name keys. A clock that goes back stands
// still; one that jumps ahead by more than a grace period starts all heartbeat clocks anew.
//
// # Differences from upstream
//
// Where this package decides otherwise than kube-controller-manager, on purpose:
//
//	what                                  why                                               test
//	a restart keeps deadlines             tolerations start at TimeAdded and binding,       TestRestartKeepsDeadlines
//	                                      not when the controller happens to see them
//	after a start, own-taint evictions    we have not watched the node ourselves yet        TestRestartWaitsForItsOwnGrace
//	wait for one whole grace period; so
//	they do where a node comes failed
//	taints stay through a restart         nothing changed for the node                      TestRestartKeepsDeadlines
//	deadlines are recomputed in both      a longer toleration counts, a shorter one too     TestDeadlinesMoveBothWays
//	directions on every change
//	a taint of another value is another   its toleration begins anew; upstream evicts when  TestTaintOfAnotherValueBeginsAnew
//	taint                                 the old one's would have ended
//	a moved eviction is not reported as   the eviction still comes                          TestDeadlinesMoveBothWays
//	cancelled
//	NoSchedule and NoExecute are lifted   else pods are scheduled there only to be evicted  TestRecoveryCancelsAndLiftsInOneWrite
//	in one write
//	taints that are due together are one  each is an event to everybody who watches          TestTaintsThatAreDueTogetherAreOneWrite
//	write
//	a swap of our two taints keeps its    it is one outage                                  TestSwapIsOneOutage
//	start and TimeAdded
//	a taint that went and came back while its TimeAdded says so; upstream counts on from the    TestTaintThatCameBackUnseenCountsAnew
//	nobody looked counts anew             first one
//	nothing is evicted from a node that   the verdict counts, not the taint                 TestNothingLeavesBetweenTheReportAndThePass
//	has reported Ready
//	an Unknown node that renews its lease it lives; upstream goes on to evict them          TestUnknownNodeThatRenewsKeepsItsPods
//	keeps its pods
//	a failed node that loses its Ready    nothing is known of it for the start-up grace;    TestNodeThatLosesItsReadyConditionIsNotFailed
//	condition waits and evicts no more    upstream leaves all as it is
//	a deleted node takes what was armed   its pods are PodGC's; upstream evicts them        TestPodsThatGoAreNotToldToBeSpared
//	for its pods along
//	no event tells that the eviction of   nobody was spared                                 TestPodsThatGoAreNotToldToBeSpared
//	a pod that is gone is cancelled
//	a pass comes before the evictions     it may call them off; upstream leaves it to chance  TestAPassComesBeforeTheEvictionsOfItsInstant
//	that are due at its instant
//	failed writes and evictions are       an outage of the API must lose nothing            TestOutageOfTheAPI
//	retried until done or not wanted, and                                                   TestAllIsDoneWithinAPassOfTheReturnOfTheAPI
//	within a pass of the API's return
//	a failed taint costs its token        an outage must not save up a burst                TestRateHoldsThroughAnOutageOfTheAPI
//	rate 0 holds no token                 0 means stop; upstream hands out the one it has   ratelimitqueue: TestRateZeroHandsOutNothing
//	a rate of exactly 1 resumes after 0   upstream's queue stays stopped                    ratelimitqueue: TestSwapFromZeroResumes
//	a token is handed out at the instant  upstream looks up to 100 ms later                 TestATokenIsHandedOutWhenItIsDue
//	at which it is due
//	a token taints a node that is not     upstream writes the same taints again with it     TestANodeIsServedOnce
//	tainted yet
//	a take-over spends no token on nodes  they are served                                   TestTakeOverGoesOnAtThePace
//	that are tainted
//	a node keeps its turn while it waits  upstream queues it anew, last, at every pass      TestANodeKeepsItsTurn
//	a node whose labels name another zone upstream leaves it in the old zone's queue, and   TestNodeChangesZoneWhileItWaits
//	takes its place along                 queues it in the new one too
//	a zone that goes and comes back earns upstream makes a new queue, with a token          TestZoneThatEmptiesAndReturnsEarnsNoToken
//	no token
//	a node that is Ready again, or gone,  the others wait for it                            TestANodeThatNeedsNoTaintCostsNoToken
//	costs no token
//	the rate that a pass sets holds for   upstream may serve one more at the rate before    TestTheRateOfAPassHoldsForItsNodes
//	all nodes of that pass
//	a node is tainted in the pass that    v1.18 does it one pass later                      TestNodesAreTaintedInThePassThatFindsThem
//	finds it failed
//	a Ready newcomer ends "every zone     upstream leaves the old zones stopped             TestNewcomerEndsAllDown
//	is down"
//	after "every zone is down", nodes     kubelets need time to report again                TestEveryZoneDown
//	still failed wait one more grace
//	pods are not marked not Ready while   it looks like our own failure                     TestEveryZoneDown
//	every zone is down
//	"every zone is down" lifts what its   upstream misses it, and goes on to evict the pods TestEveryZoneDownLiftsWhatItsPassSwaps
//	pass has swapped, too
//	a healthy zone that goes away leaves  upstream forgets the zone, and takes them for     TestAHealthyZoneThatGoesAwayLeavesTheOthersDown
//	the others all down                   down before that
//	a verdict counts in its zone though   upstream counts only nodes that it could update   TestVerdictsCountThoughTheyCannotBeWritten
//	it could not be written
//	pods are marked once in an outage,    a live kubelet is not fought                      TestPodsAreMarkedOnceInAnOutage
//	and only by our own verdict
//	a recreated node starts afresh        identity is the UID                               TestRecreatedNodeAndPodAreOthers
//	pods are evicted by UID               a name may have another pod by now                TestRecreatedNodeAndPodAreOthers
//	a pod is evicted once for all reasons  the store shows its deletion late                TestPodIsEvictedOnceForAllReasons
//	completed and mirror pods stay        deleting them frees nothing                       TestCompletedPodsStay, TestMirrorPodsStay
//	terminating pods are left alone       somebody has decided about them already           TestTerminatingPodsAreLeftAlone
//	without taints no pod's status is set the event tells why it went                       TestEventsWithoutTaints
//	to NodeLost
//	a disruption budget delays, for       429 means later                                   TestDisruptionBudgetBlocksWithoutLosing, TestRefusedEvictionsBackOff
//	longer each time
//	a zone that grows beyond the large    the rate follows the size at every pass           zone: TestAPartialZoneThatGrowsGetsItsRate
//	size changes its rate
//	a zone without a node that counts is  there is nothing wrong with it; upstream keeps    zone: TestAZoneOfExcludedMembersStays
//	Normal                                whatever it last was
//	Ready that changes within the second  stamps are whole seconds, and upstream takes the  health: TestReadyChangesWithinASecond
//	of the report before has changed      second report for the first
//	lease and status report are separate  upstream forgets the lease at each report and     health: TestReportDoesNotForgetLease
//	signs of life                         may notice silence a pass late
//	a lease that is set back is a sign of the node's clock was corrected; upstream waits    health: TestRemoteClockAnHourOffDoesNoHarm
//	life                                  until it has caught up
//	an object older than one seen before  a relist from a stale cache is no sign of life,   health: TestStaleRelistDoesNotRevive
//	is ignored, and nothing is written    and brings no taint back that was lifted          TestTaintOfAnOlderVersionEvictsNobody
//	or evicted because of it
//	a gap between two passes adds one     we slept, or our clock jumped; upstream finds     TestClockThatJumpsForwardCondemnsNobody
//	period to anybody's silence at most   everybody Unknown                                 health: TestAnyRhythmOfCalls
//	versions that fall for several        etcd was restored; upstream compares no versions  health: TestVersionsFallForAll
//	objects are compared anew
//	a creation that is absent or in the   upstream finds a node without one Unknown at once health: TestNeverReported
//	future means first seen
//	a pause stops taints and evictions,   operators need a brake that does not stop recovery TestPauseHoldsHarmAndNotRecovery
//	recovery goes on
//	after it, what our own taints evict   zones pace our own verdicts; taints of others are TestForeignTaintsWaitForNoZone
//	is paced, and nothing else            somebody's order
//	verdicts freeze while the observer    our own blindness is no news about nodes          TestBadObserverFreezesVerdicts
//	is not healthy
//	one domain can be paused, and a       a fault of one zone, or of what it stands on, is  TestPermissionOfOneDomainStopsHarmThere, TestPolicyThatWaitsKeepsOwnEvictions,
//	policy keeps or cancels what is       seen by somebody before it ends                   TestPolicyThatCancelsLiftsOurTaints
//	pending (upstream's goes on)
//	a node can be held, at once           somebody knows better                             TestHoldWatchesAndDoesNotTaint, TestHoldActsWhateverTheStoreShows
//	caps over all zones (off by default)  rates add up over zones                           TestCaps
//	parameters are validated              upstream accepts NaN and negative rates           TestConfigReportsEveryFault
//	a token is spent only on what is due  upstream spends one on looking                    ratelimitqueue: TestNoTokenForWhatIsNotDue
//	who is due at the same time is        upstream serves them in no order                  ratelimitqueue: TestRateAndOrder
//	served in the order of coming
//	a retry is due when it says           upstream adds a nanosecond                        ratelimitqueue: TestRetry
//	what is added again while it is in    it is new work, which upstream forgets            ratelimitqueue: TestRemoveWhileInFlight, timedworker: TestWhileRunning
//	flight waits for its holder to end
//	cancelling tells if work has begun    upstream says that it was cancelled               timedworker: TestWhileRunning
//	work is due at an instant             upstream counts from its creation and is late     timedworker: TestOrderAndMoves
//	a taint that is there keeps its time  nothing new began                                 taints: TestApply
//	only NoExecute taints get a time      nothing is counted from the others                taints: TestApply
//	a value on one of our taints is       upstream looks at key and effect only             taints: TestDiff
//	taken away
//	a swap of our two taints is one       else both are there for a moment                  taints: TestDiff
//	write
//
// # Differences from the kubelet
//
// Where package nodepressure decides otherwise than the kubelet's eviction manager, on purpose:
//
//	what                                       why                                                   test
//	of several thresholds that are due, hard   a hard shortage must not wait for a soft one; the     nodepressure: TestFirstOfTheDueThresholds
//	ones go first, in a fixed order            kubelet's order is random but for memory
//	a hard eviction takes the place of a       the kubelet waits until the soft one is over, while   nodepressure: TestHardPreemptsSoft
//	soft one in progress                       memory runs out
//	a notification waits for a hard eviction   the kubelet makes a pass beside the one in progress,  nodepressure: TestHardIsNotInterrupted
//	in progress                                and may evict two pods for one shortage
//	while a Kill has not returned, conditions  the kubelet measures nothing, and says what was true  nodepressure: TestConditionsFollowWhileAKillHangs
//	and admission follow the node              when it began
//	a pod whose Kill hangs is passed over      the kubelet chooses it again and again, and nobody    nodepressure: TestKillThatHangsIsGivenUp
//	until that returns                         else, while the node stays short
//	of equal pods the first by name goes       the kubelet's order is that of its unstable sort      nodepressure: TestRankingTiesGoByName
//	a request of storage is not taken from     bytes are no inodes                                   nodepressure: TestInodesAreNotBytes
//	a number of inodes
//	requests of storage count in pods with     the kubelet forgets them: such pods seem to exceed    nodepressure: TestRequests
//	resources of their own                     what they requested
//	of a request that is no whole number the   it still tells who exceeds what they requested; the   nodepressure: TestRequests
//	fraction does not count                    kubelet compares differences of less than a byte
//	a container file system is watched from    the kubelet derives its thresholds during the first   nodepressure: TestContainerFsFromTheFirstSample
//	the first pass                             pass and uses them from the second
//	all thresholds of a file system count for  the kubelet copies one hard and one soft threshold    nodepressure: TestDeriveContainerFs
//	the container file system on it
//	a sample seen before is stale though one   it is as old as it was                                nodepressure: TestStaleOverAGap
//	was missing meanwhile
//	after reclaiming, a sample of nothing is   it tells nothing; the kubelet takes it for plenty     nodepressure: TestAfterReclaim
//	no relief
//	without a transition period, conditions    the kubelet never sets them                           nodepressure: TestConditionsWithoutTransitionPeriod
//	last as long as their shortage
//	when the clock goes back no time passes,   a shortage that lasts is as old as it was             nodepressure: TestClockThatGoesBack
//	and what follows counts
//	conditions have an order                   the kubelet's messages name them in random order      nodepressure: TestConditions
//	the QoS class comes from resources         a status may be wrong or not yet written              nodepressure: TestAdmission
//	requests above limits, which the API       the kubelet adds up all containers, and others may    nodepressure: TestQOSClass
//	refuses, make a pod Burstable              make up for it
//	100.0%, 0.0% and the like turn a           they are 100% and 0%, however written                 nodepressure: TestParseThresholds
//	threshold off
//	NaN%, 10%% and a minimum reclaim above     nobody means them                                     nodepressure: TestSettingsFaults
//	100% are faults
//	every fault of the settings is reported    the kubelet stops at the first                        nodepressure: TestSettingsReportEveryFault
//	a negative maximal grace period defers to  so it is documented, and not done                     nodepressure: TestGracePeriodOfSoftEvictions
//	the pod
//	the condition of an evicted pod has no     the API of 1.32, which is enough here, has none       nodepressure: TestApply
//	observed generation
//	volumes without a measured size do not     the kubelet crashes on them                           nodepressure: TestUnknownUsage
//	count
package evictor
