/* Search results show an excerpt of each page where pages can be fetched, which browsers
 * do not allow from file://. */
if (typeof DOCUMENTATION_OPTIONS !== "undefined" && location.protocol === "file:")
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
