package apis

import (
	"fmt"
	"html"
	"net/http"
)

// found is one result of a search for query: there are three, whoever is asked.
func found(query any, i int) (title, url, snippet string) {
	return fmt.Sprintf("Result %d of %v", i, query), fmt.Sprintf("https://example.com/%d", i), fmt.Sprintf("what result %d says of <%v>", i, query)
}

// results are as many as were asked for, and three at most.
func results(query, limit any, result func(title, url, snippet string) map[string]any) []map[string]any {
	n, ok := limit.(float64)
	if !ok {
		n = 3
	}
	all := []map[string]any{}
	for i := 1; i <= min(3, int(n)); i++ {
		all = append(all, result(found(query, i)))
	}
	return all
}

func (s *Server) search() {
	s.firecrawl()
	s.exa()
	s.parallel()
	s.mux.HandleFunc("POST /html/", duckduckgo)
}

func (s *Server) firecrawl() {
	s.post("/v2/search", bearer, func(body map[string]any) any {
		web := results(body["query"], body["limit"], func(title, url, snippet string) map[string]any {
			return map[string]any{"title": title, "url": url, "description": snippet}
		})
		return map[string]any{"success": true, "data": map[string]any{"web": web}}
	})
	s.post("/v2/scrape", bearer, func(body map[string]any) any {
		return map[string]any{"success": true, "data": map[string]any{
			"markdown": fmt.Sprintf("# Page\n\nThe text of %v", body["url"]),
			"metadata": map[string]any{"title": "Page", "sourceURL": body["url"], "statusCode": 200},
		}}
	})
}

func (s *Server) exa() {
	s.post("/search", apiKey, func(body map[string]any) any {
		return map[string]any{"requestId": "1", "results": results(body["query"], body["numResults"], func(title, url, snippet string) map[string]any {
			return map[string]any{"id": url, "title": title, "url": url, "highlights": []string{snippet}, "publishedDate": "2026-01-02"}
		})}
	})
	s.post("/contents", apiKey, func(body map[string]any) any {
		pages, statuses := []any{}, []any{}
		for _, url := range body["urls"].([]any) {
			pages = append(pages, map[string]any{"id": url, "url": url, "title": "Page", "text": fmt.Sprintf("The text of %v", url)})
			statuses = append(statuses, map[string]any{"id": url, "status": "success", "source": "cached"})
		}
		return map[string]any{"requestId": "1", "results": pages, "statuses": statuses}
	})
}

func (s *Server) parallel() {
	s.post("/v1beta/search", apiKey, func(body map[string]any) any {
		return map[string]any{"search_id": "1", "results": results(body["objective"], body["max_results"], func(title, url, snippet string) map[string]any {
			return map[string]any{"title": title, "url": url, "excerpts": []string{snippet}, "publish_date": "2026-01-02"}
		})}
	})
	s.post("/v1beta/extract", apiKey, func(body map[string]any) any {
		pages := []any{}
		for _, url := range body["urls"].([]any) {
			pages = append(pages, map[string]any{"url": url, "title": "Page", "full_content": fmt.Sprintf("The text of %v", url)})
		}
		return map[string]any{"extract_id": "1", "results": pages, "errors": []any{}}
	})
}

// duckduckgo is the page of results for browsers without scripts, as far as ddgs looks at it.
func duckduckgo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, "<html><body><div id=links>")
	for i := 1; i <= 3; i++ {
		title, url, snippet := found(r.FormValue("q"), i)
		fmt.Fprintf(w, `<div class="links_main result__body"><h2><a href="%s">%s</a></h2><a class=result__snippet href="%s">%s</a></div>`,
			html.EscapeString(url), html.EscapeString(title), html.EscapeString(url), html.EscapeString(snippet))
	}
	fmt.Fprint(w, "</div></body></html>")
}
