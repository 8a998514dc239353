package api

import (
	"net/http"
	"strconv"

	"hermes.example/hermes/client"
)

func quote(s string) string { return strconv.Quote(s) }

func (a *API) gatewayOperations() []Operation {
	return []Operation{
		{
			Method: "GET", Path: "/health", ID: "getHealth", Tag: "gateway", Open: true,
			Summary: "Whether the gateway is well",
			Answers: []Answer{{Status: 200, Description: "it is well", Type: client.Health{}}, {Status: 503, Description: "it starts or ends", Type: client.Health{}}},
			Handle:  a.health,
		},
		{
			Method: "GET", Path: "/v1/status", ID: "getStatus", Tag: "gateway",
			Summary: "How the gateway is",
			Answers: []Answer{{Status: 200, Description: "how it is", Type: client.GatewayStatus{}}},
			Handle: func(w http.ResponseWriter, _ *http.Request) error {
				return answer(w, http.StatusOK, a.Gateway.Status())
			},
		},
		{
			Method: "POST", Path: "/v1/restart", ID: "restart", Tag: "gateway",
			Summary: "Have the gateway started again",
			Detail:  "Requests under way are let finish first.",
			Answers: []Answer{{Status: 202, Description: "it will", Type: client.Restarting{}}},
			Handle: func(w http.ResponseWriter, _ *http.Request) error {
				if err := a.Gateway.Restart(); err != nil {
					return Problem(client.CodeUnavailable, err.Error())
				}
				return answer(w, http.StatusAccepted, client.Restarting{Status: "restarting"})
			},
		},
		{
			Method: "GET", Path: "/v1/openapi.json", ID: "getDocument", Tag: "gateway",
			Summary: "This document",
			Answers: []Answer{{Status: 200, Description: "OpenAPI 3.1", Type: map[string]any{}}},
			Handle: func(w http.ResponseWriter, _ *http.Request) error {
				w.Header().Set("Content-Type", mediaJSON)
				w.Header().Set("Content-Length", strconv.Itoa(len(a.document)))
				w.Write(a.document)
				return nil
			},
		},
		{
			Method: "GET", Path: "/metrics", ID: "getMetrics", Tag: "gateway",
			Summary: "Figures in the text form of Prometheus",
			Answers: []Answer{{Status: 200, Description: "figures", Media: mediaText}},
			Handle:  a.metrics.serve,
		},
	}
}

func (a *API) health(w http.ResponseWriter, _ *http.Request) error {
	if !a.Gateway.Healthy() {
		return answer(w, http.StatusServiceUnavailable, client.Health{Status: a.Gateway.Status().State})
	}
	return answer(w, http.StatusOK, client.Health{Status: "ok"})
}
