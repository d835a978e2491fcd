/**
 * Replies without a body close a connection now and then, by chance. In the process of a test that imports
 * this none does, unless the test puts another draw in.
 */
import { bareReplies } from '../../http/server/bare-replies.ts';

bareReplies.draw = () => 1;
