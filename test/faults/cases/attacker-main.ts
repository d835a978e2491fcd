/**
 * The attackers' process: runs the attack that its arguments name against the target they describe, sends
 * back what was answered, and ends.
 */
import { attackNamed } from './attack-list.ts';
import type { Target } from './attackers.ts';

const [name = '', target = ''] = process.argv.slice(2);
const harvest = await attackNamed(name).run(JSON.parse(target) as Target);
process.send?.(harvest, () => process.exit(0));
