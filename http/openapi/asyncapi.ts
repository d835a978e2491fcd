/**
 * Builds the AsyncAPI 3 document of the feed, from the schemas that the feed has: what a WebSocket and an
 * event stream get, and what a WebSocket may send. Pure.
 */
import type { TSchema } from 'typebox';
import { FeedEvent, FeedMessage, FeedQuery } from '../feed/schema.ts';
import { toReferencedSchema } from './schemas.ts';

type Json = Record<string, unknown>;

/** A member of a union, named by the one value of a property. */
interface NamedSchema {
  readonly name: string;
  readonly description: string;
  readonly schema: TSchema;
}

const listMembers = (union: TSchema, property: string): readonly NamedSchema[] =>
  (union as unknown as { readonly anyOf: readonly TSchema[] }).anyOf.map((schema) => {
    const { properties, description } = schema as unknown as {
      readonly properties: Readonly<
        Record<string, { readonly const: string; readonly description?: string }>
      >;
      readonly description?: string;
    };
    const data = properties.data?.description ?? '';
    return { name: properties[property]?.const ?? '', description: description ?? data, schema };
  });

const events = listMembers(FeedEvent, 'event');
const requests = listMembers(FeedMessage, 'op');

const buildMessage = (name: string, summary: string, payload: TSchema): Json => ({
  name,
  summary,
  payload: toReferencedSchema(payload),
});

const buildMessages = (members: readonly NamedSchema[]): Json =>
  Object.fromEntries(
    members.map(({ name, description, schema }) => [name, buildMessage(name, description, schema)]),
  );

/** An event stream has the name of the event in `event`, its data as JSON in `data`. */
const buildStreamMessages = (): Json =>
  Object.fromEntries(
    events.map(({ name, description, schema }) => {
      const { data } = (schema as unknown as { readonly properties: { readonly data: TSchema } }).properties;
      return [name, buildMessage(name, description, data)];
    }),
  );

const refer = (channel: string, members: readonly NamedSchema[]): readonly Json[] =>
  members.map(({ name }) => ({ $ref: `#/channels/${channel}/messages/${name}` }));

const query = toReferencedSchema(FeedQuery);

/** Builds the document. A client receives what the server sends, so each operation says whose it is. */
export const buildAsyncApiDocument = (): Json => ({
  asyncapi: '3.0.0',
  info: {
    title: 'Rollcall feed',
    version: '1',
    description: 'Live numbers and votes of listings. `/openapi.json` describes all other operations.',
    license: { name: 'MIT' },
  },
  defaultContentType: 'application/json',
  channels: {
    socket: {
      address: '/feed',
      title: 'WebSocket',
      description: 'Messages are `{"event":…,"data":…}`; the protocol is `rollcall.v1`.',
      messages: { ...buildMessages(events), ...buildMessages(requests) },
      bindings: { ws: { method: 'GET', query, bindingVersion: '0.1.0' } },
    },
    stream: {
      address: '/feed',
      title: 'Server-sent events',
      description: '`event` is the name, `data` the payload, `id` where to go on after a loss.',
      messages: buildStreamMessages(),
    },
  },
  operations: {
    sendToSocket: {
      action: 'send',
      channel: { $ref: '#/channels/socket' },
      summary: 'What the server sends over a WebSocket.',
      messages: refer('socket', events),
    },
    receiveFromSocket: {
      action: 'receive',
      channel: { $ref: '#/channels/socket' },
      summary: 'What a client may send over a WebSocket.',
      messages: refer('socket', requests),
    },
    sendToStream: {
      action: 'send',
      channel: { $ref: '#/channels/stream' },
      summary: 'What the server sends as server-sent events.',
      messages: refer('stream', events),
      bindings: { http: { method: 'GET', query, bindingVersion: '0.3.0' } },
    },
  },
});
