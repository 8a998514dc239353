"""The process of a backend: it loads an adapter and speaks the Model Context Protocol on its standard input and output.

The protocol is spoken here, in a few small modules of the standard library: importing the official package takes as
long as importing most of the SDKs that adapters are for. Adapters are modules of hermes_adapters; what they use of this
package is `tool`, `credential`, `api` and `web`.
"""
