//! Makes a Network object a network and a subnet in OpenStack Neutron.
