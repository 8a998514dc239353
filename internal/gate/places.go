package gate

// Places are how many are let in at a time.
type Places struct{ taken chan struct{} }

// NewPlaces makes room for so many.
func NewPlaces(n int) Places { return Places{make(chan struct{}, n)} }

// Take takes a place if there is one; whoever got it gives it back.
func (p Places) Take() bool {
	select {
	case p.taken <- struct{}{}:
		return true
	default:
		return false
	}
}

// Give gives a place back.
func (p Places) Give() { <-p.taken }
