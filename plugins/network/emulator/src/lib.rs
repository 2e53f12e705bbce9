//! Answers like OpenStack Neutron and Keystone, for development and fault tests.
