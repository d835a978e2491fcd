/**
 * Limits the request line and the headers of one request to 16 KiB together. Above that uWebSockets.js
 * answers 431 and closes the connection.
 *
 * uWebSockets.js reads its limit from the environment once, while it loads, and defaults to 4 KiB. This
 * module sets the variable, and uws-server.ts imports it first, so every serving process has the same
 * limit. Nothing is read from the environment here.
 */

/** Bytes, including the empty line after the headers. */
export const headerBytesMax = 16_384;

process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(headerBytesMax);
