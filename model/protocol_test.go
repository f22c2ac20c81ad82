package model_test

import (
	"encoding/json"
	"testing"
	"time"

	"anymesh.dev/anymesh/model"
)

func TestDurationText(t *testing.T) {
	text, err := json.Marshal(model.Timeouts{Request: model.Duration(1500 * time.Millisecond)})
	if err != nil || string(text) != `{"request":"1.5s"}` {
		t.Errorf("got %s (error %v); zero must be omitted", text, err)
	}
	var got model.Timeouts
	if err := json.Unmarshal([]byte(`{"idle": "2m"}`), &got); err != nil || got.Idle != model.Duration(2*time.Minute) {
		t.Errorf("got %+v (error %v)", got, err)
	}
	if err := json.Unmarshal([]byte(`{"idle": "soon"}`), &got); err == nil {
		t.Error("got no error for an invalid duration")
	}
}

func TestProtocols(t *testing.T) {
	for p, want := range map[model.Protocol][2]bool{
		model.HTTP: {true, false}, model.HTTP2: {true, true}, model.GRPC: {true, true}, model.WebSocket: {true, false},
		model.TCP: {}, model.UDP: {}, model.Unix: {}, model.JSONSocket: {},
	} {
		t.Run(string(p), func(t *testing.T) {
			if got := [2]bool{p.Requests(), p.Multiplexed()}; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
