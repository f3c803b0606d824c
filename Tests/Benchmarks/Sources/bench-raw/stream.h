#ifndef STREAM_H
#define STREAM_H

/// Fetches `url` over a connection that libcurl makes and hands over, with a request written by hand, and reads to the end of
/// the connection. Returns how many bytes have come, or -1 when something went wrong.
long stream_read(const char *url);

#endif
