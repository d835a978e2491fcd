/**
 * How long the request line and the headers of one request may be together: 16 KiB; above, uWebSockets.js
 * answers 431 and closes the connection.
 *
 * It takes its limit from the environment once, when it is loaded, and 4 KiB without one. So this module sets
 * it, and server.ts imports this module first: every process that serves has the limit, however it starts.
 * Nothing is read from the environment here.
 */
import { env } from 'node:process';

/** Bytes, with the empty line at their end. */
export const headerBytesMax = 16_384;

env.UWS_HTTP_MAX_HEADERS_SIZE = String(headerBytesMax);
