package agent

import (
	"os"
	"path/filepath"
	"slices"
)

// keptConfig is the file in FilesDir with the configuration with which the proxy was ready for the first time.
const keptConfig = ".config.json"

// proxyCommand returns the command of the proxy with the content of its configuration files, and the content to keep
// when it is ready; empty for none. The files can change after admission, for example those of a ConfigMap. So a proxy
// that was ready once starts with the same content again, as long as the pod exists. Before that, a file with an error
// can be corrected.
func (a *agent) proxyCommand() (command []string, config string, err error) {
	if len(a.ConfigFiles) == 0 {
		return a.Command, "", nil
	}
	command, err = withConfigFiles(a.Command, a.ConfigArgument, a.ConfigFiles)
	if err == nil {
		config = command[slices.Index(command, a.ConfigArgument)+1]
	}
	if a.FilesDir == "" {
		return command, "", err
	}
	kept, readErr := os.ReadFile(filepath.Join(a.FilesDir, keptConfig))
	if readErr != nil {
		return command, config, err
	}
	if string(kept) != config {
		a.Logger.Warn("the configuration files of the proxy have changed; it keeps their first content until the pod is replaced",
			"files", a.ConfigFiles, "error", err)
	}
	command, at := withOption(a.Command, a.ConfigArgument)
	command[at] = string(kept)
	return command, "", nil
}

// keepConfig writes the content of the configuration files when the proxy is ready for the first time.
func (a *agent) keepConfig(config string) {
	if config == "" {
		return
	}
	file := filepath.Join(a.FilesDir, keptConfig)
	err := os.WriteFile(file+".new", []byte(config), 0o600)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		a.Logger.Error("the configuration of the proxy is not kept for its next start", "error", err)
	}
}
