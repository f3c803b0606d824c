#ifndef SHA1_H
#define SHA1_H

/// The value of Sec-WebSocket-Accept for a key of Sec-WebSocket-Key, which has 24 characters (RFC 6455 §4.2.2).
void websocket_accept(const char key[24], char accept[29]);

#endif
