"""Holds plugins that use Spark itself: any format of Spark as source and sink, and Sql."""
