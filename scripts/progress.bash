# shellcheck shell=bash
# How far a command is, in one line. To be sourced, with pipefail set.

shopt -u checkwinsize # COLUMNS is what the user says, also for programs that are started.

# follow STEP: reads a command's output. Of the status lines of apt-get and ninja (NINJA_STATUS=$'\001%f %t ') it makes, on a
# terminal, one line that is drawn anew: step, share, time left; elsewhere a plain line in ten seconds at most. All other lines go
# to stderr as they are. Ctrl-C ends the command, and thereby this.
follow() {
  trap '' INT
  local text=$1 kind="" finished=0 all=0 began=$SECONDS end=0 left line rest="" code=0 columns redraw="" pause=10000000
  local now shown=${EPOCHREALTIME//[!0-9]/} # in microseconds
  if [ -t 2 ] && [ "${TERM:-}" != dumb ] && [ -z "${NO_COLOR:-}" ]; then redraw=$'\r\033[K' pause=100000; fi
  while [ $code = 0 ] || [ $code -gt 128 ]; do # above 128: no line came within a second
    code=0
    IFS= read -r -t 1 line || code=$?
    rest+=$line
    if [ $code -le 128 ]; then
      if [[ $rest =~ ^$'\001'([0-9]+)' '([0-9]+)' ' ]]; then
        finished=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
        [ "$finished" = 0 ] || text="$1 $finished/$all"
      elif [[ $rest =~ ^(dl|pm)status:[^:]*:([0-9]+) ]]; then
        [ "$kind" = "${BASH_REMATCH[1]}" ] || began=$SECONDS
        kind=${BASH_REMATCH[1]} finished=${BASH_REMATCH[2]} all=100 text="install $1"
        [ "$kind" = pm ] || text="download $1"
      elif [ $code = 0 ] || [ -n "$rest" ]; then
        printf '%s%s\n' "$redraw" "$rest" >&2
      fi
      [ "$finished" = 0 ] || end=$((SECONDS + (SECONDS - began) * (all - finished) / finished))
      rest=""
    fi
    now=${EPOCHREALTIME//[!0-9]/}
    [ $((now - shown)) -ge $pause ] || continue
    shown=$now line=$text
    if [ "$finished" = 0 ]; then
      line+=", $((SECONDS - began)) s so far"
    else
      line+=", $((100 * finished / all)) %"
      left=$((end - SECONDS))
      # The first few parts say little of the others.
      if [ "$finished" -ge 8 ] && [ $((20 * finished)) -ge "$all" ] && [ $left -gt 0 ]; then
        if [ $left -lt 100 ]; then line+=", about $left s left"; else line+=", about $(((left + 30) / 60)) min left"; fi
      fi
    fi
    if [ -z "$redraw" ]; then
      echo "$line" >&2
    else
      columns=${COLUMNS:-}
      [[ $columns =~ ^0*([1-9][0-9]*)$ ]] || [[ $(stty size <&2) =~ ' '([1-9][0-9]*)$ ]] && columns=${BASH_REMATCH[1]} || columns=80
      printf '%s%s' "$redraw" "${line:0:columns-1}" >&2
    fi
  done
  printf '%s' "$redraw" >&2
}
