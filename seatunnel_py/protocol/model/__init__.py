"""The values of the protocol: ids, the topology, stream elements, records, reasons."""
