# Completion of `rooftile` in bash. The program says what may follow (cli/completion.h).
_rooftile() {
  local cur prev words cword
  # Words are taken as they stand on the line: "--tier=host" and "model.gguf:blk.0" are one each.
  if declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref -n =: cur prev words cword
  else
    words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
  fi
  local -a lines
  mapfile -t lines < <("${words[0]/#\~\//$HOME/}" complete "${words[@]:1:cword}" 2>/dev/null)
  ((${#lines[@]})) || return
  local also=${lines[-1]} line
  unset 'lines[-1]'
  # bash replaces only what follows the last of its own word breaks.
  local kept=""
  [[ $cur == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]] && kept=${cur%"${cur##*[=:]}"}
  COMPREPLY=()
  for line in "${lines[@]}"; do
    line=${line%%$'\t'*}
    line=${line#"$kept"}
    COMPREPLY+=("$(printf '%q' "$line")")
  done
  case $also in
    :files | :folders)
      local kind=-f
      [ "$also" = :files ] || kind=-d
      compopt -o filenames 2>/dev/null
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$kind" -- "${cur#"$kept"}")
      ;;
    ":program "*)
      if declare -F _command_offset >/dev/null; then
        _command_offset $((${also#:program } + 1))
      else
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      fi
      ;;
  esac
}
complete -F _rooftile rooftile
