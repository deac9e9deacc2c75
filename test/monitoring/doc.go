// Package monitoring tests config/monitoring: that every metric and label that the
// alerts and the dashboard name is served, and that the alerts fire when they
// should and no sooner.
package monitoring
