/**
 * Works around an ioredis bug: an unhandled rejection of ASKING when the connection closes.
 *
 * Before a call that a node redirects with ASK, ioredis sends ASKING and ignores its promise. When that
 * connection closes, the promise rejects without a handler, and Node ends the process. The call itself is
 * rejected too, and our code handles that one. Called for every Cluster client.
 */
import type { Cluster, Redis } from 'ioredis';

/** Handles the rejection of ASKING. The call behind it reports the failure. */
const patchAsking = (node: Redis): void => {
  const asking = node.asking.bind(node) as () => Promise<'OK'>;
  node.asking = () => {
    const answer = asking();
    answer.catch(() => {});
    return answer;
  };
};

/** Patches every node of a Cluster client. Call before the client connects. */
export const patchClusterAsking = (cluster: Cluster): void => {
  cluster.on('+node', patchAsking);
};
