package config

import (
	"math"
	"strconv"
	"strings"
)

var units = map[byte]float64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30, 't': 1 << 40}

// ParseSize reads a number of bytes, with a unit of 1024 or without: 512m, 2g, 1.5GiB.
func ParseSize(text string) (bytes int64, ok bool) {
	number, factor := strings.ToLower(text), 1.0
	number = strings.TrimSuffix(strings.TrimSuffix(number, "b"), "i")
	if n := len(number); n > 0 && units[number[n-1]] != 0 {
		number, factor = number[:n-1], units[number[n-1]]
	}
	value, ok := ParseNumber(number)
	return int64(value * factor), ok && value*factor < math.MaxInt64
}

// ParseNumber reads a plain decimal number: no sign, no exponent, no hexadecimal, no Inf.
func ParseNumber(text string) (value float64, ok bool) {
	if strings.Trim(text, "0123456789.") != "" {
		return 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}
