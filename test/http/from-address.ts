/**
 * Sends a request from a loopback address that the test chooses, for tests of limits by client address. On
 * Linux all of 127.0.0.0/8 belongs to this machine.
 */
import { type IncomingHttpHeaders, request } from 'node:http';

export interface AnsweredFrom {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Resolves to the complete reply of the server at `port` of 127.0.0.1. */
export const askFrom = (
  localAddress: string,
  to: {
    readonly port: number;
    readonly method: string;
    readonly path: string;
    readonly authorization: string;
  },
): Promise<AnsweredFrom> =>
  new Promise((resolve, reject) => {
    const { port, method, path, authorization } = to;
    const headers = authorization === '' ? {} : { authorization };
    const options = { host: '127.0.0.1', port, method, path, localAddress, headers, agent: false };
    const pending = request(options, async (response) => {
      const chunks: Buffer[] = await response.toArray();
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: Buffer.concat(chunks).toString(),
      });
    });
    pending.on('error', reject);
    pending.end();
  });
