/* Student's t distribution. */
#ifndef EASE_EVAL_STUDENT_H
#define EASE_EVAL_STUDENT_H

/* The probability of |T| >= |t| with this many degrees of freedom. */
double ease__student_two_sided(double t, double freedom);
/* The t > 0 with ease__student_two_sided(t) = p. */
double ease__student_quantile(double p, double freedom);

#endif
