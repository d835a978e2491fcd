/**
 * A look-up service and a platform's public endpoint on loopback, which answer as the test says.
 *
 * Records the requests.
 */
import { createServer, type RequestListener } from 'node:http';
import { close, listen } from './loopback.ts';

export interface LookupServer {
  /** With `{id}`, as the settings want them. */
  readonly serviceUrl: string;
  readonly platformUrl: string;
  /** Requested paths, oldest first. */
  readonly requested: string[];
  /** Decides every answer; `null` never answers. */
  answer: (path: string) => RequestListener | null;
  close(): Promise<void>;
}

export const json =
  (value: unknown, status = 200): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

/** What a good service says about an application and its bot. */
export const aboutBot = (clientId: string, bot: Record<string, unknown> | null, more = {}) => ({
  cached: false,
  data: {
    application: {
      id: clientId,
      name: 'Night Lamp',
      description: 'Keeps watch.',
      bot_public: true,
      tags: ['moderation'],
      icon: null,
      ...more,
    },
    bot: bot && {
      username: 'nightlamp',
      global_name: null,
      avatarURL: 'https://cdn.example.org/nightlamp.webp',
      public_flags_array: ['VERIFIED_BOT'],
      approximate_guild_count: 12,
      ...bot,
    },
  },
});

export const startLookupServer = async (): Promise<LookupServer> => {
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    lookups.requested.push(path);
    lookups.answer(path)?.(request, response);
  });
  const base = `http://127.0.0.1:${await listen(server)}`;
  const lookups: LookupServer = {
    serviceUrl: `${base}/service/{id}`,
    platformUrl: `${base}/platform/{id}/rpc`,
    requested: [],
    answer: () => json({ message: 'Unknown Application', code: 10_002 }, 404),
    close: () => close(server),
  };
  return lookups;
};
