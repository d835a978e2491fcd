/**
 * Keeps a lost connection from ending the process while a slot moves.
 *
 * Before a call that a node redirects with ASK, ioredis sends ASKING on its own account and never looks at
 * what becomes of it. When that connection closes, the rejection belongs to nobody, and Node ends the
 * process. The call itself is rejected as well, and that one is ours. Called for every Cluster client.
 */
import type { Cluster, Redis } from 'ioredis';

/** Nobody waits for ASKING: what became of it the call behind it tells. */
const patchAsking = (node: Redis): void => {
  const asking = node.asking.bind(node) as () => Promise<'OK'>;
  node.asking = () => {
    const answer = asking();
    answer.catch(() => {});
    return answer;
  };
};

/** To be called before the client connects. */
export const patchClusterAsking = (cluster: Cluster): void => {
  cluster.on('+node', patchAsking);
};
