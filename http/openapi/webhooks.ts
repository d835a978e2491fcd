/**
 * The requests that webhooks of the format `standard` send, for the document. Pure.
 */
import type { TSchema } from 'typebox';
import { webhookEventSchemas } from '../api/webhooks/event-schemas.ts';

type Json = Record<string, unknown>;

/** What each request of a webhook has (Standard Webhooks 1.0.0). */
const webhookHeaders = {
  'webhook-id': [
    'Id of the event, the same in every attempt: take each once.',
    '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10',
  ],
  'webhook-timestamp': [
    'Unix time of this attempt, seconds: refuse what is older than five minutes.',
    '1772366400',
  ],
  'webhook-signature': [
    'One or two signatures, separated by a blank: `v1,` and the base64 of the HMAC-SHA256 of ' +
      '`<webhook-id>.<webhook-timestamp>.<body>`; the key is the decoded base64 after `whsec_`.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ],
} as const;

/** Builds the key `webhooks`: what a receiver gets, by event. */
export const buildWebhooks = (buildContent: (body: TSchema) => Json): Json =>
  Object.fromEntries(
    Object.entries(webhookEventSchemas).map(([type, { means, body }]) => [
      type,
      {
        post: {
          operationId: `receive ${type}`.replace(/\W(\w)/g, (_, letter: string) => letter.toUpperCase()),
          tags: ['Webhooks'],
          summary: means,
          description: 'Sent to webhooks of the format `standard`.',
          security: [],
          parameters: Object.entries(webhookHeaders).map(([name, [description, example]]) => ({
            name,
            in: 'header',
            required: true,
            description,
            schema: { type: 'string', examples: [example] },
          })),
          requestBody: { required: true, content: buildContent(body) },
          responses: {
            '2XX': { description: 'Taken.' },
            '410': { description: 'The webhook is disabled.' },
            default: { description: 'Sent again later.' },
          },
        },
      },
    ]),
  );
