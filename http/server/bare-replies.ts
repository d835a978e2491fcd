/**
 * Nothing shows whether a reply without a body is read, so a few, drawn at random, close their connection:
 * else the heads that one client does not read would have no bound.
 */

/** One of so many closes its connection. The system itself takes about as many heads for a client. */
const bareRepliesMax = 256;

/** Tests put their own draw in. */
export const bareReplies = { draw: Math.random };

export const isDrawn = (): boolean => bareReplies.draw() * bareRepliesMax < 1;
