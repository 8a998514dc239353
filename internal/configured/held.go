package configured

// Held is how many sandboxes are kept open for the next call.
func (s *Sandboxes) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.holds)
}
