// libcurl's variadic functions, one static-inline wrapper for each argument type. No logic lives here.
#ifndef CLIBCURL_SHIM_H
#define CLIBCURL_SHIM_H

#include <curl/curl.h>

#if LIBCURL_VERSION_NUM < 0x074C00
#error "CurlNetworking needs libcurl 7.76.0 or newer (Debian and Ubuntu: libcurl4-openssl-dev)"
#endif

// The macros in <curl/curl.h> that hide these functions count arguments and check types; Swift needs the functions.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

typedef size_t (*clibcurl_write_function)(char *, size_t, size_t, void *);
typedef size_t (*clibcurl_read_function)(char *, size_t, size_t, void *);
typedef int (*clibcurl_seek_function)(void *, curl_off_t, int);
typedef curl_socket_t (*clibcurl_open_socket_function)(void *, curlsocktype, struct curl_sockaddr *);
typedef int (*clibcurl_close_socket_function)(void *, curl_socket_t);
typedef int (*clibcurl_progress_function)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
typedef int (*clibcurl_prerequest_function)(void *, char *, char *, int, int);
typedef int (*clibcurl_socket_function)(CURL *, curl_socket_t, int, void *, void *);
typedef int (*clibcurl_timer_function)(CURLM *, long, void *);
typedef int (*clibcurl_debug_function)(CURL *, curl_infotype, char *, size_t, void *);
typedef CURLcode (*clibcurl_ssl_context_function)(CURL *, void *, void *);

static inline CURLcode clibcurl_easy_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode clibcurl_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode clibcurl_easy_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode clibcurl_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode clibcurl_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}
// libcurl keeps a copy.
static inline CURLcode clibcurl_easy_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}
static inline CURLcode clibcurl_easy_set_debug(CURL *easy, clibcurl_debug_function value) {
    return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, value);
}
static inline CURLcode clibcurl_easy_set_write(CURL *easy, CURLoption option, clibcurl_write_function value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode clibcurl_easy_set_read(CURL *easy, clibcurl_read_function value) {
    return curl_easy_setopt(easy, CURLOPT_READFUNCTION, value);
}
static inline CURLcode clibcurl_easy_set_seek(CURL *easy, clibcurl_seek_function value) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value);
}
static inline CURLcode clibcurl_easy_set_open_socket(CURL *easy, clibcurl_open_socket_function value) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}
static inline CURLcode clibcurl_easy_set_close_socket(CURL *easy, clibcurl_close_socket_function value) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, value);
}
static inline CURLcode clibcurl_easy_set_progress(CURL *easy, clibcurl_progress_function value) {
    return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, value);
}
static inline CURLcode clibcurl_easy_set_prerequest(CURL *easy, CURLoption option, clibcurl_prerequest_function value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode clibcurl_easy_set_ssl_context(CURL *easy, clibcurl_ssl_context_function value) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, value);
}
static inline CURLcode clibcurl_easy_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode clibcurl_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode clibcurl_easy_get_string(CURL *easy, CURLINFO info, const char **value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode clibcurl_easy_get_pointer(CURL *easy, CURLINFO info, void **value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode clibcurl_easy_get_socket(CURL *easy, CURLINFO info, curl_socket_t *value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLMcode clibcurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode clibcurl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode clibcurl_multi_set_socket(CURLM *multi, clibcurl_socket_function value) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
}
static inline CURLMcode clibcurl_multi_set_timer(CURLM *multi, clibcurl_timer_function value) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
}
// Deprecated because it costs more than curl_multi_socket_action, but has no replacement: only this call makes libcurl look at sockets
// that it forgot to ask for.
static inline CURLMcode clibcurl_multi_run_all(CURLM *multi, int *running) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return curl_multi_socket_all(multi, running);
#pragma GCC diagnostic pop
}
static inline CURLSHcode clibcurl_share_data(CURLSH *share, curl_lock_data data) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, data);
}
static inline const curl_version_info_data *clibcurl_version_info(void) {
    return curl_version_info(CURLVERSION_NOW);
}
// The message's payload is a C union.
static inline CURLcode clibcurl_message_result(const CURLMsg *message) {
    return message->data.result;
}

// Their macros are casts, which Swift doesn't see.
static const long CLIBCURL_AUTH_BASIC = (long)CURLAUTH_BASIC;
static const long CLIBCURL_AUTH_DIGEST = (long)CURLAUTH_DIGEST;
static const long CLIBCURL_AUTH_NTLM = (long)CURLAUTH_NTLM;

// An enumeration's case in older headers, a macro in newer ones (8.14 has it so): Swift gives the two different types.
static const long CLIBCURL_USESSL_ALL = (long)CURLUSESSL_ALL;

// Deprecated by the headers of 7.85 and newer. Its replacement CURLOPT_PROTOCOLS_STR does the same, but is parsed for every request.
enum { CLIBCURL_OPT_PROTOCOLS = CURLOPTTYPE_LONG + 181 };

// Options and information newer than the oldest libcurl we compile against, by number, for use behind a run-time version check.
enum {
    CLIBCURL_INFO_POSTTRANSFER_TIME_T = CURLINFO_OFF_T + 67,   // 8.10.0
    CLIBCURL_OPT_CAINFO_BLOB = CURLOPTTYPE_BLOB + 309,              // 7.77.0
    CLIBCURL_OPT_PROXY_CAINFO_BLOB = CURLOPTTYPE_BLOB + 310,        // 7.77.0
    CLIBCURL_OPT_CA_CACHE_TIMEOUT = CURLOPTTYPE_LONG + 321,    // 7.87.0
    CLIBCURL_OPT_QUICK_EXIT = CURLOPTTYPE_LONG + 322,      // 7.87.0
    CLIBCURL_OPT_PREREQFUNCTION = CURLOPTTYPE_FUNCTIONPOINT + 312,  // 7.80.0
    CLIBCURL_OPT_PREREQDATA = CURLOPTTYPE_OBJECTPOINT + 313,        // 7.80.0
    CLIBCURL_OPT_MAXLIFETIME_CONN = CURLOPTTYPE_LONG + 314,         // 7.80.0
    CLIBCURL_OPT_TCP_KEEPCNT = CURLOPTTYPE_LONG + 326,              // 8.9.0
};

#endif
