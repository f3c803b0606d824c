// The structures passed to functions of zlib and zstd, on which libcurl itself depends. The libraries are found at run time, and their
// headers need not be installed.
#ifndef CLIBCURL_CODINGS_H
#define CLIBCURL_CODINGS_H

#include <stddef.h>

// zlib.h: z_stream
typedef struct {
    const unsigned char *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *zalloc;
    void *zfree;
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
} clibcurl_zlib_stream;

// zstd.h: ZSTD_inBuffer
typedef struct {
    const void *bytes;
    size_t size;
    size_t position;
} clibcurl_zstd_input;

// zstd.h: ZSTD_outBuffer
typedef struct {
    void *bytes;
    size_t size;
    size_t position;
} clibcurl_zstd_output;

#endif
