/**
 * The key `webhooks` of the document says what receivers get: every event has a schema that its bodies
 * match, without a field that the schema does not name.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { routes } from '../../../http/api/table.ts';
import { buildOpenApiDocument } from '../../../http/openapi/document.ts';
import { toWebhookBody } from '../../../http/outbound/webhooks/formats.ts';
import { type WebhookEvent, webhookEvents } from '../../../http/outbound/webhooks/stored-event.ts';
import * as samples from '../outbound/webhooks/sample-events.ts';

const test = suite('openapi webhooks');

interface Receiver {
  readonly post: {
    readonly operationId: string;
    readonly requestBody: {
      readonly content: {
        readonly 'application/json': { readonly schema: object; readonly example: unknown };
      };
    };
  };
}
interface Document {
  readonly webhooks: Readonly<Record<string, Receiver>>;
}
const document: Document & object = JSON.parse(JSON.stringify(buildOpenApiDocument(routes)));
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);

/** The schema, closed: a field that it does not name is a fault. */
const close = (node: unknown): unknown => {
  if (typeof node !== 'object' || node === null) return node;
  if (Array.isArray(node)) return node.map(close);
  const closed = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, close(value)]));
  return 'properties' in node ? { ...closed, additionalProperties: false } : closed;
};

const events: readonly WebhookEvent[] = Object.values(samples).flat();

test('each event is described, and only these', () => {
  assert.equal(Object.keys(document.webhooks), [...webhookEvents, 'webhook.test']);
});

for (const [type, { post }] of Object.entries(document.webhooks)) {
  const { schema, example } = post.requestBody.content['application/json'];
  const validate = ajv.compile(close(schema) as object);

  test(`${type}: its example and its bodies match the schema`, () => {
    const bodies = events
      .filter((event) => event.type === type)
      .map((event) => JSON.parse(toWebhookBody('standard', event) as string));
    for (const body of [example, ...bodies]) assert.ok(validate(body), JSON.stringify(validate.errors));
    assert.ok(bodies.length > 0 || type === 'vote.restored', 'has a body to compare');
  });

  test(`${type}: a body without one of its fields does not match`, () => {
    const { data: _, ...without } = example as { readonly data: object };
    assert.not.ok(validate(without));
  });
}

/** Every schema below a node that names its values. */
const listNamed = (node: unknown): readonly Readonly<Record<string, unknown>>[] => {
  if (typeof node !== 'object' || node === null) return [];
  const own = node as Readonly<Record<string, unknown>>;
  const below = Object.entries(own).flatMap(([key, value]) =>
    key.startsWith('example') ? [] : listNamed(value),
  );
  return Array.isArray(own.enum) || typeof own.const !== 'undefined' ? [own, ...below] : below;
};

test('what names its values says their type', () => {
  const named = listNamed(document);

  assert.ok(named.length > 50);
  assert.equal(
    named.filter(({ type }) => typeof type !== 'string'),
    [],
  );
});

test('integers that may be above 2^53 are uint64', () => {
  const text = JSON.stringify(document);
  const { Bot } = (document as unknown as { components: { schemas: Record<string, { properties: object }> } })
    .components.schemas;
  const wide = Object.entries(Bot?.properties ?? {}).filter(([, field]) => field.format === 'uint64');

  assert.equal(wide.map(([name]) => name).sort(), ['servers', 'shards', 'users']);
  assert.is(text.match(/"maximum":18446744073709552000,"format":"uint64"/g)?.length, 4);
});

test.run();
