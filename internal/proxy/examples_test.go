package proxy_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/test/freeport"
)

// The examples run, on other ports than those in the files.
func TestExamples(t *testing.T) {
	folder, err := filepath.Abs("../../examples/proxy")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %v, error %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, err := config.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			writeCertificate(t, ".", "localhost")
			for i := range c.Listeners {
				spec := &c.Listeners[i].Spec
				for spec.Transport != nil {
					spec = spec.Transport
				}
				if spec.Port != 0 {
					spec.Port = freeport.Port(t)
				}
			}
			ctx, cancel := context.WithCancel(context.Background())
			p := proxy.New(ctx, slog.New(slog.NewTextHandler(t.Output(), nil)))
			defer p.Wait()
			defer cancel()
			if err := p.Apply(c); err != nil {
				t.Error(err)
			}
		})
	}
}
