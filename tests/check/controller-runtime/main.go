// A controller of Sites on controller-runtime, with the bug that BUG names: what `oarlock check --command` must find.
//
// A Site has a ConfigMap NAME-config with its title and color. It goes by a finalizer: the ConfigMap has no owner.
//
//	not-found  the deletion fails where the ConfigMap is gone already: after a crash between its deletion and that of the finalizer
//	merges     a color that the Site no longer has stays
package main

import (
	"context"
	"maps"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "check.oarlock.test/site"

var kind = schema.GroupVersionKind{Group: "check.oarlock.test", Version: "v1", Kind: "Site"}

type sites struct {
	client.Client
	bug string
}

func (r sites) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := &unstructured.Unstructured{}
	site.SetGroupVersionKind(kind)
	if err := r.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name + "-config"}}
	if !site.GetDeletionTimestamp().IsZero() {
		if !controllerutil.ContainsFinalizer(site, finalizer) {
			return ctrl.Result{}, nil
		}
		if err := r.Delete(ctx, config); err != nil && (r.bug == "not-found" || !apierrors.IsNotFound(err)) {
			return ctrl.Result{}, err
		}
		controllerutil.RemoveFinalizer(site, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, site))
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		if err := r.Update(ctx, site); err != nil {
			return ctrl.Result{}, err
		}
	}
	spec, _, _ := unstructured.NestedMap(site.Object, "spec")
	data := map[string]string{"title": spec["title"].(string)}
	if color, colored := spec["color"].(string); colored {
		data["color"] = color
	}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, config, func() error {
		if r.bug != "merges" || config.Data == nil {
			config.Data = map[string]string{}
		}
		maps.Copy(config.Data, data)
		return nil
	})
	return ctrl.Result{}, err
}

func main() {
	ctrl.SetLogger(zap.New())
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Metrics: server.Options{BindAddress: metrics()}})
	if err == nil {
		site := &unstructured.Unstructured{}
		site.SetGroupVersionKind(kind)
		err = ctrl.NewControllerManagedBy(manager).For(site).Complete(sites{manager.GetClient(), os.Getenv("BUG")})
	}
	if err == nil {
		err = manager.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		ctrl.Log.Error(err, "the manager ends")
		os.Exit(1)
	}
}

// No metrics, unless METRICS is an address.
func metrics() string {
	if address := os.Getenv("METRICS"); address != "" {
		return address
	}
	return "0"
}
