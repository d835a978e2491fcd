/**
 * Requests beside the load: repeated while the server is away or has no time for them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, type Client, type ClientRequest, NoAnswer } from '../shared/http-client.ts';

const triesMax = 120;
const pauseMs = 500;
const passing = [429, 502, 503, 504];

/** Resolves to the first answer that waiting does not change. Only for what may be sent twice. */
export const askPatiently = async (
  client: Client,
  url: string,
  request: ClientRequest = {},
): Promise<Answer> => {
  for (let tries = 1; ; tries++) {
    const answer = await client.ask(url, request).catch((error: NoAnswer) => error);
    if (!(answer instanceof NoAnswer) && !passing.includes(answer.status)) return answer;
    if (tries === triesMax)
      throw new Error(`${url}: ${answer instanceof NoAnswer ? answer.message : answer.status}`);
    await sleep(pauseMs);
  }
};
