/**
 * A handler's reply, the few ways to make one, and its values: rows and times as the wire shows them.
 */

import type { Static, TObject } from 'typebox';
import type { OpenPush } from '../server/push-connection.ts';

/** A handler's reply: a value to serialise, text or bytes ready to send, or no body. */
export interface Reply {
  readonly status: number;
  readonly json?: unknown;
  /** Already serialised JSON, for hot and cached replies and for integers beyond 2^53. */
  readonly text?: string;
  /**
   * For a reply object that is reused: caches the ETag of its text or bytes, `''` until it is computed. With
   * it, a reply that sets its own `Cache-Control` has an ETag, too.
   */
  readonly tag?: { etag: string };
  /**
   * Already serialised JSON, or bytes, in chunks, for replies of unbounded length. The server pulls the next
   * chunk only when the socket has room, and stops pulling (`return()`) when the client disconnects. An error
   * in the middle closes the connection, so that a client never takes half a reply for a whole one.
   */
  readonly stream?: AsyncIterable<string | Uint8Array>;
  /**
   * Takes over the connection, as a WebSocket if the request is an upgrade, else as a response without end,
   * for which `headers` name the Content-Type. Not called for HEAD, nor when the client has left.
   */
  readonly push?: OpenPush;
  /** Bytes ready to send: JSON, or a document whose Content-Type `headers` name. */
  readonly bytes?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export const replyOk = <Json>(json: Json): Reply => ({ status: 200, json });
export const replyCreated = <Json>(json: Json): Reply => ({ status: 201, json });
export const replyText = (body: string): Reply => ({ status: 200, text: body });
export const noContent: Reply = { status: 204 };

/** ApiResponse (contract §2.1). */
export const replyMessage = (message: string, context: Record<string, string> = {}): Reply => ({
  status: 200,
  json: { message, context },
});

export const toTimestamp = (date: Date): string => date.toISOString();

/** A value of a row that the wire can show: the same one, or a time where the wire has its text. */
type Stored<Value> = Value extends string
  ? Value | Date
  : Value extends readonly (infer Item)[]
    ? readonly Item[]
    : Value;

/**
 * Builds the object of a schema from the fields of these names in a row; times become text. `computed` are
 * the fields that the row does not have, or has in another form. What else the row has is left out.
 */
export const showRow = <Schema extends TObject, const Computed extends Partial<Static<Schema>> = object>(
  schema: Schema,
  row: { readonly [Name in Exclude<keyof Static<Schema>, keyof Computed>]: Stored<Static<Schema>[Name]> },
  computed?: Computed,
): Static<Schema> => {
  const stored: Readonly<Record<string, unknown>> = row;
  const others: Readonly<Record<string, unknown>> = computed ?? {};
  const shown: Record<string, unknown> = {};
  for (const name of Object.keys(schema.properties)) {
    const value = Object.hasOwn(others, name) ? others[name] : stored[name];
    shown[name] = value instanceof Date ? toTimestamp(value) : value;
  }
  return shown as Static<Schema>;
};

/** JSON text of a time in ms; 0 means never and gives `null`. */
export const renderTimestamp = (atMs: number): string =>
  atMs === 0 ? 'null' : `"${new Date(atMs).toISOString()}"`;
