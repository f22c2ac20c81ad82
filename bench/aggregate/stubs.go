package main

import "context"

func (b *bench) informers(context.Context) error   { return nil }
func (b *bench) deadCluster(context.Context) error { return nil }
func (b *bench) membership(context.Context) error  { return nil }
func (b *bench) latency(context.Context) error     { return nil }
func (b *bench) reconnects(context.Context) error  { return nil }
