#!/bin/sh
# In the instructor image: python -m autograder. What root writes into the course is then given to whose folder it is, so that formgrader,
# which does not run as root, can go on from there; also after Ctrl-C.
trap : INT TERM
python -m autograder "$@"
status=$?
course=/home/instructor/course
if [ "$(id -u)" = 0 ]; then chown -hR --reference="$course" "$course"; fi
exit $status
