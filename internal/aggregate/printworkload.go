package aggregate

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

var deploymentPrinter = printed("Name,Ready,Up-to-date,Available,Age|Containers,Images,Selector",
	func(d *appsv1.Deployment) []any {
		containers, images := names(d.Spec.Template.Spec.Containers)
		return []any{
			d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, orZero(d.Spec.Replicas)), d.Status.UpdatedReplicas,
			d.Status.AvailableReplicas, age(d.CreationTimestamp), containers, images,
			metav1.FormatLabelSelector(d.Spec.Selector),
		}
	})

var replicaSetPrinter = printed("Name,Desired,Current,Ready,Age|Containers,Images,Selector",
	func(r *appsv1.ReplicaSet) []any {
		containers, images := names(r.Spec.Template.Spec.Containers)
		return []any{
			r.Name, orZero(r.Spec.Replicas), r.Status.Replicas, r.Status.ReadyReplicas, age(r.CreationTimestamp),
			containers, images, metav1.FormatLabelSelector(r.Spec.Selector),
		}
	})

var statefulSetPrinter = printed("Name,Ready,Age|Containers,Images", func(s *appsv1.StatefulSet) []any {
	containers, images := names(s.Spec.Template.Spec.Containers)
	return []any{
		s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, orZero(s.Spec.Replicas)), age(s.CreationTimestamp),
		containers, images,
	}
})

var daemonSetPrinter = printed(
	"Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age|Containers,Images,Selector",
	func(d *appsv1.DaemonSet) []any {
		containers, images := names(d.Spec.Template.Spec.Containers)
		return []any{
			d.Name, d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled, d.Status.NumberReady,
			d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable, formatLabels(d.Spec.Template.Spec.NodeSelector),
			age(d.CreationTimestamp), containers, images, metav1.FormatLabelSelector(d.Spec.Selector),
		}
	})

var jobPrinter = printed("Name,Status,Completions,Duration,Age|Containers,Images,Selector", func(j *batchv1.Job) []any {
	containers, images := names(j.Spec.Template.Spec.Containers)
	return []any{
		j.Name, jobStatus(j), completions(j), jobDuration(j), age(j.CreationTimestamp), containers, images,
		metav1.FormatLabelSelector(j.Spec.Selector),
	}
})

// jobStatus is the first condition of a job that decides, in the order of kubectl.
func jobStatus(j *batchv1.Job) string {
	has := func(kind batchv1.JobConditionType) bool {
		for _, c := range j.Status.Conditions {
			if c.Type == kind {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	switch {
	case has(batchv1.JobComplete):
		return "Complete"
	case has(batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case has(batchv1.JobSuspended):
		return "Suspended"
	case has(batchv1.JobFailureTarget):
		return "FailureTarget"
	case has(batchv1.JobSuccessCriteriaMet):
		return "SuccessCriteriaMet"
	}
	return "Running"
}

func completions(j *batchv1.Job) string {
	switch parallelism := orZero(j.Spec.Parallelism); {
	case j.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	case parallelism > 1:
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, parallelism)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func jobDuration(j *batchv1.Job) string {
	switch start, end := j.Status.StartTime, j.Status.CompletionTime; {
	case start == nil:
		return ""
	case end == nil:
		return duration.HumanDuration(time.Since(start.Time))
	default:
		return duration.HumanDuration(end.Sub(start.Time))
	}
}

var cronJobPrinter = printed(
	"Name,Schedule,Timezone,Suspend,Active,Last Schedule,Age|Containers,Images,Selector",
	func(c *batchv1.CronJob) []any {
		containers, images := names(c.Spec.JobTemplate.Spec.Template.Spec.Containers)
		suspend := "False"
		if orZero(c.Spec.Suspend) {
			suspend = "True"
		}
		return []any{
			c.Name, c.Spec.Schedule, orNone(orZero(c.Spec.TimeZone)), suspend, len(c.Status.Active),
			since(c.Status.LastScheduleTime), age(c.CreationTimestamp), containers, images,
			metav1.FormatLabelSelector(c.Spec.JobTemplate.Spec.Selector),
		}
	})
